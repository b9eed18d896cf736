# SPDX-License-Identifier: Apache-2.0
# Completion of ptxgen for fish: 'ptxgen complete' knows the candidates.
function __ptxgen_candidates
    set -l words (commandline -opc)
    type -q $words[1]; or return
    set -l current (commandline -ct)
    set -l before (string match -r -- '^--[^=]*=' $current; or echo '')
    for line in ($words[1] complete -- $words[2..-1] $current 2>/dev/null)
        switch $line
            case ':files*'
                set -l suffixes (string split -n ' ' -- (string replace ':files' '' -- $line))
                for path in (__fish_complete_path (string replace -r -- '^--[^=]*=' '' $current))
                    set -l name (string split -m 1 \t -- $path)[1]
                    set -l suffix (string match -r -- '[^.]*$' $name)
                    if test (count $suffixes) = 0; or string match -q -- '*/' $name; or contains -- "$suffix" $suffixes
                        echo $before$path
                    end
                end
            case ':directories'
                printf '%s\n' $before(__fish_complete_directories (string replace -r -- '^--[^=]*=' '' $current))
            case '*'
                echo $line
        end
    end
end

complete -c ptxgen -f -a '(__ptxgen_candidates)'
