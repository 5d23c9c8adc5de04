/** Why a server cannot start. Exit code 2 means that its configuration is wrong. */
export interface StartFault {
  readonly exitCode: 1 | 2;
  readonly message: string;
}

/** Why a server could not start. The message is for its operator. */
export class StartFailed extends Error {
  override readonly name = 'StartFailed';
  readonly exitCode: 1 | 2;

  constructor({ exitCode, message }: StartFault, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
