"""Value types, units, schemas and errors. The bottom room: it imports no other room and opens no file."""
