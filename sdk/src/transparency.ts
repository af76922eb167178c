/** `uqrp-sdk/transparency`: proofs of the transparency log of datasets, by WebCrypto and without network. */

export {
  type LogProofCheck,
  type LogProofFault,
  type ProofCosigner,
  type ProofStep,
  type ProvedEntry,
  type ReadProof,
  readLogProof,
  verifyLogProof,
} from './transparency/log-proof.ts';
