"""The command line. Thin: parse, call, print; what is heavy is imported inside the command that needs it."""
