/** The address of a service as Kubernetes and Docker write it. No setting has such a value. */
const SERVICE_ADDRESS = /^(?:tcp|udp|sctp):\/\//;

/**
 * Names that exist only for services: `FANFARE_SERVICE_PORT_WS` is a named port of the service,
 * `FANFARE_PORT_6001_TCP_ADDR` the address of one port, `FANFARE_ENV_PATH` a variable of a linked container.
 */
const SERVICE_NAME =
  /_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:ADDR|PORT|PROTO|START|END))*|ENV_\w+)$/;

/** The value of a Docker link: `/CONTAINER/ALIAS`. */
const LINKED_CONTAINER = /^\/[^/]+\/[^/]+$/;

/**
 * Whether Kubernetes or a Docker link set a variable, because a service or container is called `fanfare`,
 * `fanfare-push`, and so on. `FANFARE_CHANNELS_PORT` can be a setting or the address of a service: the value decides.
 * Source: Kubernetes, "Discovering services"; Docker, "Legacy container links".
 */
export function isServiceLink(name: string, value: string): boolean {
  return (
    SERVICE_NAME.test(name) ||
    (name.endsWith('_PORT') && SERVICE_ADDRESS.test(value)) ||
    (name.endsWith('_NAME') && LINKED_CONTAINER.test(value))
  );
}
