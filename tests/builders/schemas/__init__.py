"""Examples of what ``schemas`` defines: records, documents, and messages that expand."""
