"""The command line. Each verb is a module in `commands/`, loaded when it is called."""
