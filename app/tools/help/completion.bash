# bash completion for weir -*- shell-script -*-
# What may stand next says weir itself: a candidate a line, with what it is behind a tab.
_weir() {
    local cur=${COMP_WORDS[COMP_CWORD]} word about
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
    done < <("${COMP_WORDS[0]/#\~/$HOME}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _weir weir
