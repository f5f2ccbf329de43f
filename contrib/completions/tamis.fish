# Completes tamis in fish. `tamis complete` knows what may follow; paths are left to fish.
function __tamis_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l current (commandline -ct)
    for line in (command tamis complete -- $words "$current" 2>/dev/null)
        set -l fields (string split -m 1 \t -- $line)
        set -l paths
        switch $fields[1]
            case :files
                set paths (__fish_complete_path "$fields[2]")
            case :folders
                set paths (__fish_complete_directories "$fields[2]")
            case '*'
                echo $line
                continue
        end
        # what stands before the path: --option=PATH, LABEL=PATH
        set -l length (math (string length -- "$current") - (string length -- "$fields[2]"))
        set -l before (string sub -l $length -- "$current")
        for path in $paths
            echo "$before$path"
        end
    end
end
complete -c tamis -f -a '(__tamis_complete)'
