"""What agents are asked to do beyond their ping lists (skh.requests) and what they answer."""
