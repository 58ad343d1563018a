"""The study of [SWAP14]: its statistics, and what the paper prints."""
