import { Gauge, type Registry } from 'prom-client';

export interface ProcessSources {
  /** Version of this program; null: not exported. */
  readonly version: string | null;
  /** When the certificate in use ends, milliseconds since the epoch; null in a process without one. */
  readonly certificateEnd: () => number | null;
  /** Null in a process that does not ask the database. */
  readonly databaseUp: () => boolean | null;
  /** Octets that may still be written below the data directory; NaN while that is not known. */
  readonly dataDirFree: () => number;
}

/** Version, end of the certificate, state of the database, and room on the disk. */
export function registerProcessMetrics(
  registry: Registry,
  { version, certificateEnd, databaseUp, dataDirFree }: ProcessSources,
): void {
  const registers = [registry];
  if (version !== null) {
    const build = new Gauge({
      registers,
      name: 'uqrp_build_info',
      help: 'Always 1; the labels tell the version of uqrp and of Node',
      labelNames: ['version', 'node'],
    });
    build.set({ version, node: process.versions.node }, 1);
  }
  new Gauge({
    registers,
    name: 'uqrp_tls_certificate_expiry_timestamp_seconds',
    help: 'End of the certificate that DoT and DoH present, Unix time',
    collect() {
      const end = certificateEnd();
      if (end === null) this.remove();
      else this.set(Math.floor(end / 1000));
    },
  });
  new Gauge({
    registers,
    name: 'uqrp_data_dir_free_bytes',
    help: 'Room on the disk of UQRP_DATA_DIR for this process, octets',
    collect() {
      const free = dataDirFree();
      if (Number.isNaN(free)) this.remove();
      else this.set(free);
    },
  });
  new Gauge({
    registers,
    name: 'uqrp_database_up',
    help: 'Whether the database answers: 1 or 0',
    collect() {
      const isUp = databaseUp();
      if (isUp === null) this.remove();
      else this.set(isUp ? 1 : 0);
    },
  });
}
