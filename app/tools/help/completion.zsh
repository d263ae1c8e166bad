#compdef weir
# weir itself says what may come next: one candidate a line, then a tab and the meaning.
_weir() {
  local -a candidates
  local line files dirs
  for line in "${(@f)$(${(Q)words[1]} __complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      (:files) files=1 ;;
      (:dirs) dirs=1 ;;
      (*$'\t'*) candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
      (?*) candidates+=("${line//:/\\:}") ;;
    esac
  done
  local found=1
  (( $#candidates )) && _describe -t values 'weir' candidates && found=0
  if [[ -n $files || -n $dirs ]]; then
    compset -P '--*='
    if [[ -n $files ]]; then _files && found=0; else _files -/ && found=0; fi
  fi
  return found
}
if [[ $funcstack[1] == _weir ]]; then
  _weir "$@"
else
  compdef _weir weir
fi
