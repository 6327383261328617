/** How the emulator starts. */
export interface StartOptions {
  /** The name of the account. The default is `devstoreaccount1`. */
  account?: string;
  /** The account's key in base64. The default is the well-known key of `devstoreaccount1`. */
  key?: string;
  /** The port. The default 0 selects a free one. */
  port?: number;
  /** The folder that keeps the tables. The default is memory. */
  data?: string;
  /** More options of the command `azure-table-mock`. */
  args?: string[];
  /** More environment variables of the emulator. */
  env?: Record<string, string>;
  /** The longest wait for the start, in milliseconds. The default is 30,000. */
  timeout?: number;
}

/** A running emulator. It ends with this process at the latest. */
export interface Emulator {
  /** The endpoint of the account, such as `http://127.0.0.1:10002/devstoreaccount1`. */
  readonly url: string;
  readonly connectionString: string;
  readonly account: string;
  readonly key: string;
  /** Stops the emulator after the requests in flight. */
  stop(): Promise<void>;
}

/** Starts the emulator, and resolves once it accepts requests. */
export function start(options?: StartOptions): Promise<Emulator>;

/** The path of the program. */
export function binaryPath(): string;
