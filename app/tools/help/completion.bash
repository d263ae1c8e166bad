# bash completion for weir -*- shell-script -*-
# weir itself says what may come next: one candidate a line, then a tab and the meaning.
_weir() {
    local i raw before rest=${COMP_LINE-} word about
    local -a words=()
    # Bash parts words at colons (COMP_WORDBREAKS), and names and addresses have some: parts without a blank
    # between them are one word again.
    for ((i = 0; i <= COMP_CWORD; ++i)); do
        raw=${COMP_WORDS[i]}
        if [[ $i -gt 1 && -n $rest && $rest != [[:space:]]* && ($raw == :* || ${words[-1]} == *:) ]]; then
            words[-1]+=$raw
        else
            words+=("$raw")
        fi
        before=${rest%%"$raw"*}
        rest=${rest:${#before}+${#raw}}
    done
    local cur=${words[-1]} known
    # Readline puts a candidate in the place of the last part alone.
    [[ $raw == ":" ]] && known=$cur || known=${cur%"$raw"}
    [[ $cur == "=" ]] && cur=
    COMPREPLY=()
    while IFS=$'\t' read -r word about; do
        case $word in
            :files)
                compopt -o filenames 2>/dev/null
                mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur")
                ;;
            :dirs)
                compopt -o filenames 2>/dev/null
                mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$cur")
                ;;
            *) COMPREPLY+=("$word") ;;
        esac
    done < <("${words[0]/#\~/$HOME}" __complete -- "${words[@]:1}" 2>/dev/null)
    COMPREPLY=("${COMPREPLY[@]#"$known"}")
}
complete -F _weir weir
