/** The store has lost what was in it: nobody may conclude that a device or an instance is unknown. */
export class StoreLost extends Error {
  override readonly name = 'StoreLost';
}

/** Too many changes wait for the store, and whoever asked has the most of them. Others are served. */
export class StoreBusy extends Error {
  override readonly name = 'StoreBusy';
}
