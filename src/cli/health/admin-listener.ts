import { isServiceLink } from '../../config/environment/service-links.ts';
import type { EnvironmentVariables } from '../../config/environment/variables.ts';
import { type ConfigPlaces, readFoundFile } from '../../config/file/find-file.ts';
import { isObject } from '../../config/settings/plain-json.ts';
import { listenHostRule, readListenHost, socketPath } from '../../runtime/listen-host.ts';

/** Where the admin listener of a configuration is, or why that is not known. `port`: 0 for a Unix socket. */
type AdminListener =
  | { readonly host: string; readonly port: number }
  | { readonly problem: string };

/** As in the schema of the configuration, which is not loaded here: that takes longer than the rest of a health check. */
const HOST = '127.0.0.1';
const PORT = 6003;

const PORT_MAX = 65_535;

/**
 * Reads only the address of the admin listener. Other mistakes in the configuration concern the next start, not the health of the
 * running server.
 */
export function adminListener(places: ConfigPlaces): AdminListener {
  const found = readFoundFile(places);
  if ('problem' in found) return { problem: `${found.problem.path}: ${found.problem.message}` };
  const { admin } = isObject(found.value) ? found.value : {};
  const inFile = isObject(admin) ? admin : {};

  const named = variable(places.environment, 'FANFARE_ADMIN_HOST') ?? inFile['host'] ?? HOST;
  const host = typeof named === 'string' ? readListenHost(named) : undefined;
  if (host === undefined) {
    return { problem: `admin.host ${listenHostRule(String(named))}` };
  }
  if (socketPath(host) !== undefined) return { host, port: 0 };

  const given = variable(places.environment, 'FANFARE_ADMIN_PORT') ?? inFile['port'] ?? PORT;
  const port = typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : given;
  if (port === 0) return { problem: 'admin.port is 0, so the server may be at any port' };
  if (typeof port !== 'number' || !Number.isInteger(port) || port < 0 || port > PORT_MAX) {
    return { problem: `admin.port must be a whole number from 1 to ${PORT_MAX}` };
  }
  return { host, port };
}

function variable(environment: EnvironmentVariables, name: string): string | undefined {
  const value = environment[name];
  return value === undefined || isServiceLink(name, value) ? undefined : value;
}
