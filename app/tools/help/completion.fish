# fish completion for weir
# What may stand next says weir itself: a candidate a line, with what it is behind a tab.
function __weir_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in (command $words[1] __complete -- $words[2..-1] $current 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path (string replace -r -- '^--[^=]*=' '' $current)
            case ':dirs'
                __fish_complete_directories (string replace -r -- '^--[^=]*=' '' $current)
            case '*'
                echo $line
        end
    end
end
complete -c weir -f -a '(__weir_complete)'
