/** An address as Kubernetes and Docker write it for a service. No setting takes such a value. */
const SERVICE_ADDRESS = /^(?:tcp|udp|sctp):\/\//;

/**
 * Names that exist only for services. `FANFARE_SERVICE_PORT_WS` names a port of the service,
 * `FANFARE_PORT_6001_TCP_ADDR` belongs to one port of it, `FANFARE_ENV_PATH` is a variable of a linked container.
 */
const SERVICE_NAME =
  /_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:ADDR|PORT|PROTO|START|END))*|ENV_\w+)$/;

/** What Docker links give: `/CONTAINER/ALIAS`. */
const LINKED_CONTAINER = /^\/[^/]+\/[^/]+$/;

/**
 * Whether Kubernetes or a Docker link set a variable, because a service or container is called `fanfare`,
 * `fanfare-push`, and so on. `FANFARE_CHANNELS_PORT` can be both, a setting and the address of a service: its
 * value tells. Source: Kubernetes, "Discovering services"; Docker, "Legacy container links".
 */
export function isServiceLink(name: string, value: string): boolean {
  return (
    SERVICE_NAME.test(name) ||
    (name.endsWith('_PORT') && SERVICE_ADDRESS.test(value)) ||
    (name.endsWith('_NAME') && LINKED_CONTAINER.test(value))
  );
}
