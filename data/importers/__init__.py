"""Other people's and older files, read as data: recognised by what they hold, never by their name."""
