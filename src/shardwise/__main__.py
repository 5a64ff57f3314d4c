"""``python -m shardwise`` is the command line."""

from shardwise.cli.main import main

if __name__ == "__main__":
    main()
