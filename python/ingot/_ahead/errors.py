"""What is wrong with a build."""


class BuildError(Exception):
    """A build that cannot be made, with a message for who asked for it."""
