#!/bin/sh
# Starts conform.gd for "turngraph conformance --client". Godot prints its version on standard output: only JSON is passed on.
if [ "$TURNGRAPH_CODEC" = turngraph.v1.proto ]; then
  exit 77 # the client has the JSON form only
fi
godot=$(command -v godot3-server || command -v godot-server || command -v godot3)
"$godot" --path "$(dirname "$0")" --script conform.gd | grep --line-buffered '^{'
