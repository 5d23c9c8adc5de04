import type { Platform } from '../../model/device.ts';
import type { CircuitEvent, OpenCircuit } from '../ports.ts';
import type { Route } from './route.ts';

/** A circuit that is open for less than this is not reported: an acceptance that was in flight has closed it. */
const REPORT_MS = 1_000;

interface Owner {
  readonly instance: number;
  readonly platform: Platform;
}

/** The open circuit of a route, if it is open. */
export function openCircuitOf(
  { instance, platform }: Owner,
  { circuit: { fault }, origin, openedAtMs: sinceMs }: Route,
): OpenCircuit | undefined {
  return fault && { instance, platform, origin, sinceMs, ...fault };
}

/** Returns whether the circuit of a route has opened or closed since the last report, and takes note of it. */
export function circuitEventOf(
  owner: Owner,
  route: Route,
  nowMs: number,
): CircuitEvent | undefined {
  const before = route.reported;
  const circuit = openCircuitOf(owner, route);
  if (circuit === undefined) {
    route.reported = undefined;
    return before && { what: 'closed', circuit: before };
  }
  if (route.circuit.openForMs(nowMs) < REPORT_MS) return undefined;
  route.reported = circuit;
  return before === undefined ? { what: 'opened', circuit } : undefined;
}
