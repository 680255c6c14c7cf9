"""Measurements that need more than ``evaluation`` may import; ``skeletonhunter bench`` runs them.

``store`` measures the embedded engine: inserts, bytes, queries.
"""
