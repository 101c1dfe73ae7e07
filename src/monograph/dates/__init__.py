"""When things are from: dates as texts and metadata write them are read."""
