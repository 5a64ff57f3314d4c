"""``python -m shardwise`` is the command line."""

from shardwise.core.processes import leave_current_folder

# before the modules are loaded that do the work
leave_current_folder()

from shardwise.cli.main import main  # noqa: E402

if __name__ == "__main__":
    main()
