#!/bin/sh
# cmake/ccache.sh CCACHE COMPILER ARGUMENT...: compiles through ccache. A precompiled header is removed before it is made
# anew: the compiler would else include it, as it was, instead of the headers, and ccache look for what the old one became.
export CCACHE_SLOPPINESS=pch_defines,time_macros
case " $* " in
  *" -x c++-header "*)
    before=
    for argument; do
      if [ "$before" = -o ]; then rm -f "$argument"; fi
      before=$argument
    done
    ;;
esac
exec "$@"
