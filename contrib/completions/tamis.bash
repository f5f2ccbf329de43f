# Completes tamis in bash. `tamis complete` knows what may follow; paths are left to bash.
_tamis() {
    local words=() piece line value path i files='' typed=$2

    # bash cuts words at = and : too, and keeps quotes
    for ((i = 1; i <= COMP_CWORD; i++)); do
        piece=${COMP_WORDS[i]}
        ((i == COMP_CWORD)) && [[ $piece != [=:] ]] && piece=$typed
        piece=${piece//[\"\'\\]/}
        if ((${#words[@]})) && [[ -n $piece && ($piece == [=:]* || ${words[-1]} == *[=:]) ]]; then
            words[-1]+=$piece
        else
            words+=("$piece")
        fi
    done
    local before=${words[-1]%"${typed//[\"\'\\]/}"}

    COMPREPLY=()
    while IFS= read -r line; do
        value=${line%%$'\t'*} path=${line#*$'\t'}
        case $value in
            :files) files=-f ;;
            :folders) files=-d ;;
            *) COMPREPLY+=("$(printf %q "${value#"$before"}")") ;;
        esac
    done < <(command tamis complete -- "${words[@]}" 2> /dev/null)

    if [[ -z $files ]]; then
        compopt +o default
    elif ((${#COMPREPLY[@]})); then
        while IFS= read -r path; do
            [[ -d $path ]] && path+=/
            COMPREPLY+=("$(printf %q "$path")")
        done < <(compgen "$files" -- "$typed")
    elif [[ $files == -d ]]; then
        compopt +o default -o dirnames
    fi
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/] ]] && compopt -o nospace
    return 0
}
complete -o default -F _tamis tamis
