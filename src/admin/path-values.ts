import { type InstanceId, readInstanceId } from '../push/model/instance-id.ts';

/**
 * The values of the variables in the path of an operation. The id of a push instance is read here and nowhere else,
 * so that looking up, the log and the audit trail have one spelling of it.
 */
export class PathValues {
  private readonly values: Readonly<Record<string, string>>;
  private readonly instance: InstanceId | undefined;

  /** `path`: that of the operation. `given`: the segments of the request, by the names of the variables. */
  constructor(path: string, given: Readonly<Record<string, string>>) {
    this.values = given;
    if (path.startsWith('/instances/{id}')) this.instance = readInstanceId(given['id'] ?? '');
  }

  /** The value of a variable. Empty: the path has none of this name. */
  of(name: string): string {
    return (name === 'id' ? this.instance : undefined) ?? this.values[name] ?? '';
  }

  /** The push instance that the path is below. Throws if it is below none. */
  instanceId(): InstanceId {
    if (this.instance === undefined) throw new Error('The path names no push instance');
    return this.instance;
  }
}
