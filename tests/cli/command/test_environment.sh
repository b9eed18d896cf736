# SPDX-License-Identifier: Apache-2.0
# What the command says of variables of the environment whose words mean nothing: once, and it goes on.
source "$(dirname "$0")/../cli.bash"

# warns COUNT TEXT ARGUMENT...: succeeds with so many warnings, and TEXT is in one of them.
warns() {
    local count=$1 text=$2
    shift 2
    run "$@"
    [[ $code == 0 && $(<"$dir/err") == *"$text"* ]] || failed "$*" "exit code $code, or no '$text'"
    [[ $(grep -c 'warning: ' "$dir/err") == "$count" ]] || failed "$*" "not $count warnings"
}

export CLUSTERJIT_CACHE_DIR=$dir/cache
for arguments in 'run reduce --device cpu' 'info --device cpu'; do
    # shellcheck disable=SC2086
    {
        CLUSTERJIT_LOG=loud warns 1 "ptxgen: warning: CLUSTERJIT_LOG is 'loud'; it is off, error, warn, info or debug" $arguments
        CLUSTERJIT_TUNING=of warns 1 "ptxgen: warning: CLUSTERJIT_TUNING is 'of'; it is off or on" $arguments
        CLUSTERJIT_LOG=off CLUSTERJIT_TUNING=of warns 0 '' $arguments
        CLUSTERJIT_LOG=loud CLUSTERJIT_TUNING=of warns 2 'CLUSTERJIT_TUNING' $arguments
        CLUSTERJIT_LOG='' CLUSTERJIT_TUNING='' warns 0 '' $arguments
        CLUSTERJIT_LOG=info CLUSTERJIT_TUNING=on warns 0 '' $arguments
    }
done
finish
