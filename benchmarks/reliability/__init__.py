"""What live training makes of deaths, freezes, cut networks and restarts, on this machine; judged by a checker."""
