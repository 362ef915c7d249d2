"""Speed and quality claims, each with the command that shows it. `make bench` runs them all."""
