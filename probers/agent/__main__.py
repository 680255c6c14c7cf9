"""``python -m probers.agent``: the same as ``skeletonhunter-agent``."""

from probers.agent.main import main

if __name__ == "__main__":
    raise SystemExit(main())
