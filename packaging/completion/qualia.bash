# Completion of qualia and qualia-cli for bash.

_qualia() {
  local commands="run chat bench profile perplexity logits tokenize detokenize inspect"
  local common="-h --help -v --verbose -q --quiet"
  local compute="-m --model --lane --backend --threads --ctx --kv --precision --in-process"
  local reply="-n --max-tokens --temp --top-k --top-p --min-p --repeat-penalty --seed --stop --system"
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command="" word options=""
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ " $commands " == *" $word "* ]]; then
      command=$word
      break
    fi
  done

  COMPREPLY=()
  case $previous in
    --kv) options="int8 f16 f32" ;;
    --precision) options="fast precise exact" ;;
    --lane) options="reference" ;;
    -m | --model | -f | --file | --trace) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    -n | -c | -d | -b | -r | --batch | --max-tokens | --window | --depth | --repetitions | --prompt-tokens | --every) return ;;
    --threads | --ctx | --temp | --top-k | --top-p | --min-p | --repeat-penalty | --seed) return ;;
    -p | --prompt | --stop | --system | --tokens | --last | --top | --backend) return ;;
  esac
  if [[ -z $options ]]; then
    case $command in
      "") options="$commands --version -h --help" ;;
      run) options="$common $compute $reply -p --prompt -f --file --raw --json" ;;
      chat) options="$common $compute $reply" ;;
      tokenize) options="$common -m --model --no-special --parse-special --json" ;;
      detokenize) options="$common -m --model --parse-special --json" ;;
      inspect) options="$common --json" ;;
      logits) options="$common $compute --tokens --last --top --json" ;;
      perplexity) options="$common $compute -f --file -c --window --json" ;;
      bench) options="$common $compute -p --prompt-tokens -n --max-tokens -d --depth -b --batch -r"
        options+=" --repetitions --json --csv --md" ;;
      profile) options="$common $compute -p --prompt-tokens -n --max-tokens -d --depth --every --trace"
        options+=" --json" ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  if [[ $command == inspect && $current != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _qualia qualia qualia-cli
