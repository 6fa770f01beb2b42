"""The live modes: each decides, request by request, what is answered from the recording and what may leave. Pure."""
