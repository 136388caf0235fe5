"""Who plays the matches that learners learn from: one interface, several ways to run the actors behind it."""
