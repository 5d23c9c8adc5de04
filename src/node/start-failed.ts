/** Why a server cannot start: 1 a fault, 2 its configuration. */
export interface StartFault {
  readonly exitCode: 1 | 2;
  readonly message: string;
}

/** A server that could not start, in words for its operator. */
export class StartFailed extends Error {
  override readonly name = 'StartFailed';
  readonly exitCode: 1 | 2;

  constructor({ exitCode, message }: StartFault, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
