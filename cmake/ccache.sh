#!/bin/sh
# cmake/ccache.sh CCACHE COMPILER ARGUMENT...: compiles through ccache. A precompiled header is removed before it is made
# anew: the compiler would else include it, as it was, instead of the headers, and ccache look for what the old one became.
# Precompiled headers are looked up by the bytes of all they include (depend mode), never by what the preprocessor makes
# of them: they hold a sum of each header with #pragma once, so one made before a comment changed would not be recognised
# in the header of today, which would be read a second time. The name space leaves out those that were looked up otherwise.
export CCACHE_SLOPPINESS=pch_defines,time_macros
case " $* " in
  *" -x c++-header "*)
    export CCACHE_DEPEND=1 CCACHE_NAMESPACE=precompiled-by-bytes
    before=
    for argument; do
      if [ "$before" = -o ]; then rm -f "$argument"; fi
      before=$argument
    done
    ;;
esac
exec "$@"
