"""What a file holds goes out as plain files; what other stores hold comes in as documents."""
