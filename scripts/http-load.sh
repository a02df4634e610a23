#!/usr/bin/env bash
# http-load.sh [SECONDS] [HEAP]: inets httpd on Atoll serves one file to wrk (Debian: apt-get install wrk), all on loopback.
# Prints requests per second, errors and the server's resident memory before and after. Needs target/release/atoll.
set -euo pipefail
seconds=${1:-60} heap=${2:-private}
top=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
mkdir "$folder/www"
head -c 4096 /dev/zero | tr '\0' x >"$folder/www/index.html"
cat >"$folder/serve.erl" <<'ERL'
-module(serve).
-export([main/1]).
main([Folder]) ->
    {ok, _} = application:ensure_all_started(inets),
    {ok, Pid} = inets:start(httpd, [{port, 0}, {bind_address, {127, 0, 0, 1}}, {server_name, "atoll"}, {max_clients, 1000},
                                    {server_root, Folder}, {document_root, filename:join(Folder, "www")},
                                    {modules, [mod_alias, mod_get, mod_head]}, {mime_types, [{"html", "text/html"}]}]),
    [{port, Port}] = httpd:info(Pid, [port]),
    ok = file:write_file(filename:join(Folder, "port"), integer_to_list(Port)),
    receive never -> ok end.
ERL
(cd "$folder" && "$top/target/release/atoll" erlc serve.erl)
"$top/target/release/atoll" erl --heap "$heap" -noshell -pa "$folder" -run serve main "$folder" \
    -kernel inet_default_listen_options '[{nodelay,true}]' &
server=$!
until [ -s "$folder/port" ]; do sleep 0.1; done
address=http://127.0.0.1:$(cat "$folder/port")/index.html
resident() { grep VmRSS "/proc/$server/status"; }
wrk -t1 -c16 -d5s "$address" >/dev/null
resident
wrk -t1 -c32 -d"${seconds}s" "$address" | grep -E 'Requests/sec|Socket errors|Non-2xx|requests in'
wrk -t1 -c8 -d5s -H 'Connection: close' "$address" | grep -E 'Requests/sec|Socket errors|Non-2xx'
resident
