"""Arrays in the memory of devices, and graphs of what runs there."""
