# Completion of qualia and qualia-cli for fish.
set -l commands run chat tokenize detokenize inspect logits perplexity bench
for program in qualia qualia-cli
    set -l none "not __fish_seen_subcommand_from $commands"
    complete -c $program -n $none -f -a "$commands"
    complete -c $program -n $none -l version -d "Print the version"
    complete -c $program -l help -d "Print the options"
    complete -c $program -s v -d "Say more"
    complete -c $program -s q -d "Say less"

    set -l compute "__fish_seen_subcommand_from run chat logits perplexity bench"
    complete -c $program -n "not $none" -s m -r -d "Model"
    complete -c $program -n $compute -l lane -x -a reference -d "Lane"
    complete -c $program -n $compute -l backend -x -d "Backend"
    complete -c $program -n $compute -l threads -x -d "Threads"
    complete -c $program -n $compute -l ctx -x -d "Positions of a sequence"
    complete -c $program -n $compute -l kv -x -a "int8 f16 f32" -d "Keys and values"
    complete -c $program -n $compute -l precision -x -a "fast precise exact" -d "Rounding"

    set -l reply "__fish_seen_subcommand_from run chat"
    complete -c $program -n $reply -s n -x -d "Tokens at most"
    complete -c $program -n $reply -l temp -x -d "Temperature"
    complete -c $program -n $reply -l top-k -x -d "Best tokens kept"
    complete -c $program -n $reply -l top-p -x -d "Probability kept"
    complete -c $program -n $reply -l min-p -x -d "Least share of the best"
    complete -c $program -n $reply -l repeat-penalty -x -d "Against repetition"
    complete -c $program -n $reply -l seed -x -d "Seed of the draw"
    complete -c $program -n $reply -l stop -x -d "Text that ends the reply"
    complete -c $program -n $reply -l system -x -d "System message"
    complete -c $program -n "__fish_seen_subcommand_from run" -s p -x -d "Prompt"
    complete -c $program -n "__fish_seen_subcommand_from run" -l raw -d "No chat template"
    complete -c $program -n "__fish_seen_subcommand_from run perplexity" -s f -r -d "Text file"
    complete -c $program -n "__fish_seen_subcommand_from $commands; and not __fish_seen_subcommand_from chat" \
        -l json -d "One JSON document"
end
