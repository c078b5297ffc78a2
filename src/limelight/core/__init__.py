"""Arrays, devices, memory, threads, progress and safe characters: what every room stands on."""
