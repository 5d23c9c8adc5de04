/** The store has lost its contents: it must not be concluded that a device or an instance does not exist. */
export class StoreLost extends Error {
  override readonly name = 'StoreLost';
}

/** Too many changes wait for the store, and the caller's owner has the most of them. Others are served. */
export class StoreBusy extends Error {
  override readonly name = 'StoreBusy';
}
