"""What scripts/bench is made of: one file per subcommand, and what they share."""
