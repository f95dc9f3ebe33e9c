# Completion of qualia and qualia-cli for bash.

_qualia() {
  local commands="run chat tokenize detokenize inspect logits perplexity bench"
  local common="--help -v -q"
  local compute="-m --lane --backend --threads --ctx --kv --precision"
  local sampling="-n --temp --top-k --top-p --min-p --repeat-penalty --seed --stop --system"
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
    -m | -f) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    -n | -c | -d | -r | --threads | --ctx | --temp | --top-k | --top-p | --min-p) return ;;
    --repeat-penalty | --seed | --stop | --system | --tokens | --last | --top | --backend) return ;;
  esac
  if [[ -z $options ]]; then
    case $command in
      "") options="$commands --version --help" ;;
      run) options="$common $compute $sampling -p -f --raw --json" ;;
      chat) options="$common $compute $sampling" ;;
      tokenize) options="$common -m --no-special --parse-special --json" ;;
      detokenize) options="$common -m --parse-special --json" ;;
      inspect) options="$common --json" ;;
      logits) options="$common $compute --tokens --last --top --json" ;;
      perplexity) options="$common $compute -f -c --json" ;;
      bench) options="$common $compute -p -n -d -r --json --csv --md" ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  if [[ $command == inspect && $current != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _qualia qualia qualia-cli
