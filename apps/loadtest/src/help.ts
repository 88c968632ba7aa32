/** The text of `--help`. */
export const help = `sluice-loadtest: load for servers of chat completions, messages and generate content

  sluice-loadtest run      [scenario.yaml] [flags]   run one load
  sluice-loadtest search   [scenario.yaml] [flags]   find the highest rate that meets the objective
  sluice-loadtest report   a.json b.json [--html FILE] [--csv FILE]   compare results side by side
  sluice-loadtest upstream [--port 9000] [--host 127.0.0.1]           serve the fake upstream
  sluice-loadtest bench    [--duration 5s] [--users 64] [--processes 1]   this client's own ceiling

Load (one of; default --rate 10)
  -r, --rate N               open loop at N requests/s
      --ramp A..B            open loop, rate from A to B over the duration
      --steps 100x30s,200x30s   open loop, rate steps
      --arrivals poisson|constant   spacing of the open loop (default poisson)
      --trace FILE           arrivals of a CSV: at_s, at_ms or timestamp (dates, seconds or milliseconds)
                             [, prompt_tokens or Request tokens, output_tokens or Response tokens]
      --trace-speed N        play it N times as fast
  -u, --users N              closed loop of N users
      --think DIST           pause between an answer and the next request
      --pace TIME            intended time between a user's requests
      --ramp-up TIME         users start evenly within this time (default 200ms); --burst: all at once

Run
  -t, --target URL           base address, with or without /v1, or the whole one of requests, as
                             http://127.0.0.1:8000/v3/chat/completions; its query goes with every request
                             (default http://127.0.0.1:8080)
  -d, --duration TIME        default 30s, with --steps their sum, with --trace its length
      --warmup TIME          before measuring, part of the duration
  -n, --requests N           stop after N arrivals
      --timeout TIME         per request (120s);  --grace TIME for the last ones (30s)
  -p, --processes N          client processes;  --connections N per process (20000)
      --seed N               same seed, same arrivals and prompts; each load of a search takes the next
      --name TEXT            title in reports

Traffic
  -f, --format LIST          openai, anthropic, gemini (default openai; a list is mixed evenly)
  -m, --model NAME           default paced-t50-n64-g10, a model of the fake upstream
      --single | --stream-share N   single bodies | share of streams (default 1)
      --prompt TEMPLATE      {text} {tokens} {seed} {index}, e.g. '[[sim tokens={tokens} seed={seed}]] {text}'
      --prompt-tokens DIST   words of generated {text} (32);  --prompt-file FILE a line each instead
      --output-tokens DIST   the limit requests ask for, {tokens}
      --seeds N              {seed} is below N
      --body JSON            further fields of every body
  -k, --key KEY              repeatable;  --keys-file FILE one per line
      --key-pick in-turn|random|skewed
      --header NAME=VALUE    repeatable; before the format's own, values never in results
      --abort-share N        clients that leave, --abort-after-tokens DIST or --abort-after DIST (time)
      --slow-share N         clients that read at --slow-rate N bytes/s (1000); http only

Objective and checks
      --slo ttft=500ms,tpot=50ms,e2e=10s   what a good request meets;  --attainment N share (0.99)
      --verify tokens|repeat tokens: the fake upstream's numbered words, no gap, double or stranger
                             repeat: equal questions get equal answers, in every format (few --seeds, no {text})
      --expect-text FILE     every answer is exactly this text, a newline at its end included
      --enforce              exit with 1 when the objective is missed or the server fell behind (wrong text always does)

Search
      --search-from N (10)  --search-max N (100000)  --precision N (0.05)  --beyond 1.25,1.5,2  --settle TIME (1s)
      --duration is that of each load tried, whose rates are the search's own: no --rate, --ramp or --steps

Output
      --json FILE  --csv FILE  --html FILE  --quiet
      an interrupt ends the load, writes what was measured and exits with 130; one more after 2 s ends at once

TIME: 250ms, 1.5s, 2m, always with its unit. DIST: 128, uniform:10..200, normal:128,32, lognormal:128,0.8,
exponential:500, choice:16=0.9,1024=0.1; of times as exponential:500ms.
Flags override the scenario file, whose fields are those of src/scenario/scenario.ts.

Fake upstream models: paced-t50-n64-g10-b4-stamp = first token after 50 ms, 64 tokens, 10 ms between writes,
4 tokens per write, each with the instant of its emission (gives token transit on one host).
Also x8 (cut after 8 tokens), e503 (that status), p5 (either for 5 % of requests only),
q32 (serve 32 at a time, refuse more with 429).
`;
