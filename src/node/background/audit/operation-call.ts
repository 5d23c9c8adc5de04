import type { PathValues } from '../../../admin/path-values.ts';
import type { AdminCall } from '../../../transports/admin/routes.ts';

/** A request to an operation of the admin API, with the values in its path as the operation has read them. */
export interface OperationCall extends Omit<AdminCall, 'path'> {
  readonly path: PathValues;
}
