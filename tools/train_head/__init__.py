"""Train draft heads for a GGUF target from chats that the target itself writes."""
