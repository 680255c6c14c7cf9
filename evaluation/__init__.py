"""Evaluation of the product: scorecard, benchmarks, the fault suite on a real fabric.

In: the testbed's scenarios and fabrics. Out: docs/scorecard.md, the table of ``skeletonhunter
bench``, the result of ``skeletonhunter fabric play``. Start with the folder of that name; this
package may import every other one but the command.
"""
