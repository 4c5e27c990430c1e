%% proxied_epmd: erl_epmd, but for the ports of the other nodes of a cluster: those are of the proxies between
%% them.
-module(proxied_epmd).
-export([start/0, start_link/0, stop/0, register_node/2, register_node/3, port_please/2, port_please/3,
         listen_port_please/2, address_please/3, open/0, open/1, open/2, names/0, names/1]).

start() -> erl_epmd:start().
start_link() -> erl_epmd:start_link().
stop() -> erl_epmd:stop().
register_node(Name, Port) -> erl_epmd:register_node(Name, Port).
register_node(Name, Port, Family) -> erl_epmd:register_node(Name, Port, Family).
listen_port_please(Name, Host) -> erl_epmd:listen_port_please(Name, Host).
open() -> erl_epmd:open().
open(Address) -> erl_epmd:open(Address).
open(Address, Timeout) -> erl_epmd:open(Address, Timeout).
names() -> erl_epmd:names().
names(Host) -> erl_epmd:names(Host).

%% Without the port, which OTP then asks port_please for.
address_please(_Name, Host, Family) -> inet:getaddr(Host, Family).

port_please(Name, Host) -> through_proxy(Name, erl_epmd:port_please(Name, Host)).
port_please(Name, Host, Timeout) -> through_proxy(Name, erl_epmd:port_please(Name, Host, Timeout)).

%% CLUSTER_PROXIES is "name=port,name=port".
through_proxy(Name, {port, _, Version} = Direct) ->
    Proxies = [string:split(One, "=") || One <- string:lexemes(os:getenv("CLUSTER_PROXIES", ""), ",")],
    case [Port || [To, Port] <- Proxies, To =:= to_list(Name)] of
        [Port] -> {port, list_to_integer(Port), Version};
        [] -> Direct
    end;
through_proxy(_, Other) -> Other.

to_list(Name) when is_atom(Name) -> atom_to_list(Name);
to_list(Name) -> Name.
