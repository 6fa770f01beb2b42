"""The replay wing: answers an agent from a recording, in order, and says where it drifts."""
