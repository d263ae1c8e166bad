# fish completion for weir
# weir itself says what may come next: one candidate a line, then a tab and the meaning.
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
